import { type AssistantMessage, emptyUsage } from "@bonsai-agent/messages";
import { finalEvent, type StreamEvent } from "@bonsai-agent/models";
import { registerProvider } from "../src/host/extension-providers.ts";
import type { ProviderOptions } from "../src/index.ts";
import { ownModels } from "./opened-models.ts";

/** Models, and an extension's provider named `mine`. */
export async function providerStage(env: Record<string, string> = {}) {
  const models = await ownModels({ env });
  const undos: { name: string; undo: () => void }[] = [];
  const register = (name: string, options: ProviderOptions) => {
    const undo = registerProvider(
      () => models,
      name,
      options,
      (error) => {
        throw error;
      },
    );
    undos.unshift({ name, undo });
    return undo;
  };
  /** Undoes all registrations of a name. */
  const unregister = (name: string) => {
    for (const each of undos) if (each.name === name) each.undo();
  };
  const known = () => models.catalogue.models.filter(({ provider }) => provider === "mine");
  const ask = async (reference: string, signal?: AbortSignal) => {
    const model = await models.catalogue.find(reference);
    const events: StreamEvent[] = [];
    const request = { model, purpose: "extension" as const, systemPrompt: "Be brief.", tools: [] };
    const messages = [{ role: "user" as const, content: "Hi", timestamp: 0 }];
    const seen = async function* () {
      for await (const event of models.client.stream({ ...request, messages, signal })) {
        events.push(event);
        yield event;
      }
    };
    return { final: await finalEvent(seen()), events };
  };
  return { ...models, register, unregister, known, ask };
}

export const answer = (parts: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text: "Good day." }],
  api: "mine",
  provider: "mine",
  model: "m",
  usage: { ...emptyUsage(), input: 10, output: 5 },
  stopReason: "stop",
  timestamp: 0,
  ...parts,
});

export const models = [{ id: "m" }];
