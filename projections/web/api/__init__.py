"""Documents of the API: OpenAPI of the reads, AsyncAPI of the topics, from what serves them."""
