"""Pictures in numbers: where the templates draw bars, lanes, lines and rectangles."""
