import type { ExtensionAPI } from "@bonsai-agent/extension";

export default function vertex(_bonsai: ExtensionAPI): void {}
