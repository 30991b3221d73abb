"""The notifier: tells programs outside of commits and conflicts, each receiver in log order."""
