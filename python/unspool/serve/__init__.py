"""What is served over HTTP; needs `pip install 'unspool[serve]'`."""
