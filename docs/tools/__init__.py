"""Tools of the documents: generated pages and pictures, and the site."""
