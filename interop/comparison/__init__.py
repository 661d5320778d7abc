"""What `compare.py` sends to both servers, and how it holds the answers against each other."""
