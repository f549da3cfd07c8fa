import type { ExtensionAPI } from "@bonsai-agent/extension";

export default function bedrock(_bonsai: ExtensionAPI): void {}
