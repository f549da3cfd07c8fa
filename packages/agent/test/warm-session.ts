import { summarySections } from "@bonsai-agent/compaction";
import type { AssistantMessage, Message, ModelPrices } from "@bonsai-agent/messages";
import type { CatalogueModel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import { actor } from "./scripted-agent.ts";

export const prices: ModelPrices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

export const model: CatalogueModel = {
  ...actor,
  input: ["text"],
  contextWindow: 200_000,
  maxOutputTokens: 8_000,
  usdPerMillionTokens: prices,
};

export const summary = (kind: "history" | "turnPrefix" | "branch", body = "noted") =>
  summarySections[kind].map((heading) => `## ${heading}\n${body}`).join("\n\n");

export function say(session: Session, message: Message): void {
  session.append({ type: "message", message: message as never });
}

export function answer(): AssistantMessage {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return {
    role: "assistant",
    content: [],
    api: "scripted",
    provider: "scripted",
    model: "actor",
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost },
    stopReason: "stop",
    timestamp: 1,
  };
}
