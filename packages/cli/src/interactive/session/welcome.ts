import type { Agent } from "@bonsai-agent/agent";
import type { ChatView } from "../chat/chat-view.ts";
import { isNoModel } from "../no-model.ts";

/** The first line of a session in which nothing was said yet. Where there is no model, the first run has its own. */
export function welcome(
  chat: Pick<ChatView, "line">,
  { session, model }: Pick<Agent, "session" | "model">,
  version: string,
): void {
  if (session.leafId !== null || isNoModel(model)) return;
  chat.line({
    text: `bonsai ${version} · say what to do; /help lists commands and keys`,
    look: "dim",
  });
}
