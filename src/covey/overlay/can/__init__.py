"""A CAN whose dimension is not that of the events. (papers: can)"""
