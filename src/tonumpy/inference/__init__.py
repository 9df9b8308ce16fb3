"""What is known of each value that is converted, by what stands in engine/. Imports run down this list:

completeness.py, receivers.py, lost_gradients.py   the questions that the pipeline asks of `.numpy()`
array_flow.py                what the names of a function are made of, for these and for arguments
memory/                      what shares memory with what, and who writes it
summaries/                   what a function, class or module gives: call and attribute summaries, callers, the
                             fixpoint; driver.py runs what holds candidates
transfer/                    what each construct of the language does to facts
habits/                      what people mean by a name or a place, where nothing is proved
"""
