"""What was found in a file, kept on the disk until anything changes that it was found by.

The key of what is kept (cache_entries.py) is the file's own content, the settings that can change a finding, the tool
itself and Python (identity.py), and every answer that the disk gave while the file was looked at, the answers "there is
no such module" among them (cache/recorded.py records them, lookup_answers.py asks again). What a search
through the repository gave (searches.py) and what the modules of a folder import (neighbours.py) is kept
once, for all files that asked it; these keep of it what their findings depend on. Nothing is kept of a file
with an error, nor where an answer was cut because Python recurses no deeper.

A repository may deliver a cache of its own, made to hide or to invent findings. So only what bears the seal of this
user is read (seal.py), and the folder is made use of only where it is one of ours (folder.py).
"""
