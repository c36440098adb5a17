"""From a call to a record: checks, the eager time loop, and the class that PropTorch and PropJax share."""
