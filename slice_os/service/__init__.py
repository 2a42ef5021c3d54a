"""The service: stores over HTTP, and the page that people work with."""
