import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyFile, loadCatalogue, ModelClient } from "@bonsai-agent/models";
import { onTestFinished } from "vitest";
import type { ExtensionModels } from "../src/host/index.ts";

/** The models of a home folder of its own. */
export async function ownModels(
  options: ConstructorParameters<typeof ModelClient>[0] & { env?: Record<string, string> } = {},
): Promise<ExtensionModels> {
  const { env = {}, ...given } = options;
  const home = mkdtempSync(join(tmpdir(), "bonsai-models-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const keys = new KeyFile({ home, env });
  const client = new ModelClient({ keys, retry: { maxRetries: 0 }, ...given });
  return { catalogue: await loadCatalogue({ home, env }), keys, client };
}
