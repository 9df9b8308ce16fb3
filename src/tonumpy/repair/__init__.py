"""From a conversion and a rule's verdict to edits, and to a new text that is verified before it is written."""
