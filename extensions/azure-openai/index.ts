import type { ExtensionAPI } from "@bonsai-agent/extension";

export default function azureopenai(_bonsai: ExtensionAPI): void {}
