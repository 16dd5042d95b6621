"""The validating webhook for opaque device configurations."""

from reference_impl.webhook.server import Webhook, WebhookOptions

__all__ = ["Webhook", "WebhookOptions"]
