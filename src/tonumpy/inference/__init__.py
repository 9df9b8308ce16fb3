"""What is known of arrays and memory, for the rules that ask for more than the facts of one value (see engine/):

completeness.py              candidates that neither grad nor device can make raise
back_in_torch.py             whether torch uses what NumPy makes of a tensor
array_flow.py                what the names of a function are made of, for these and for arguments
"""
