"""The promises of well-known libraries: one TOML file per import root, one row per promise.

A row names a function (`torchvision.utils.make_grid`) or a method or attribute of a class
(`torch.nn.Module.state_dict`), what it returns, where that lives and whether it may require grad, and the document it
was read from. docs/dev/library-rows.md describes the format, and rows.py reads it.
"""
