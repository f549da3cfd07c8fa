import type { CatalogueModel } from "@bonsai-agent/models";
import { AgentHost } from "../../work/agent-host.ts";
import type { Workshop } from "../../work/workshop.ts";

/** Stands for the model until there is one: nothing is ever sent to it. */
const noModel: CatalogueModel = {
  provider: "none",
  id: "none",
  name: "No model yet",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 200_000,
  maxOutputTokens: 8_000,
  usdPerMillionTokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
};

export function isNoModel({ provider, id }: Pick<CatalogueModel, "provider" | "id">): boolean {
  return provider === noModel.provider && id === noModel.id;
}

/** Opens the session also where no model can be used yet. */
export function openHost(workshop: Workshop): Promise<AgentHost> {
  return AgentHost.open(workshop, { spareModel: noModel });
}
