import type { ExtensionAPI } from "@bonsai-agent/extension";

export default function mcp(_bonsai: ExtensionAPI): void {}
