import { AgentHost } from "../../work/agent-host.ts";
import type { Workshop } from "../../work/workshop.ts";
import { noModel } from "../no-model.ts";

/** Opens the session also where no model can be used yet. */
export function openHost(workshop: Workshop): Promise<AgentHost> {
  return AgentHost.open(workshop, { spareModel: noModel });
}
