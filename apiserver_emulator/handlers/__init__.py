"""Handlers of the verbs on resources: read the request, run the operation, write the response.

They correspond to k8s.io/apiserver pkg/endpoints/handlers.
"""
