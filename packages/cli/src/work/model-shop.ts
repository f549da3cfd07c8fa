import type { AgentSettings } from "@bonsai-agent/agent";
import { fileKeys, loadCatalogue, ModelClient } from "@bonsai-agent/models";
import type { CliIo } from "../io.ts";
import type { Notice } from "../output.ts";
import type { ModelShelf } from "./model-choice.ts";

export interface ModelShopOptions {
  io: CliIo;
  home: string;
  settings: AgentSettings;
  onNotice: (notice: Notice) => void;
}

/** Where models are found, and who asks them. */
export interface ModelShop {
  shelf: ModelShelf;
  models: ModelClient;
}

/** @throws BonsaiError for a catalogue or keys that cannot be read. */
export async function openModelShop({ io, home, settings, onNotice }: ModelShopOptions): Promise<ModelShop> {
  const { env, cwd } = io;
  const keys = fileKeys({ home, env, onNotice });
  const catalogue = await loadCatalogue({ home, env });
  const { bodyless429IsOverflow } = settings.compaction;
  const models = new ModelClient({ keys, retry: settings.retry, bodyless429IsOverflow });
  return { shelf: { catalogue, keys, cwd, onNotice }, models };
}
