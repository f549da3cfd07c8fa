import { contentText, type Message } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import {
  compactionSettings,
  pinMessage,
  runCompaction,
  type Summariser,
  unpinMessage,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

export const settings = compactionSettings({ keepRecentTokens: 200 }, { estimator: "chars4" });

export function pin(session: Session, text: string): string {
  return session.append({ type: "custom_message", ...pinMessage(session, text) }).id;
}

export function unpin(session: Session, text: string): string {
  return session.append({ type: "custom_message", ...unpinMessage(text) }).id;
}

export const goOn = (session: Session) => history("U:900 A:900 | U:100 A:100", session);

export function compact(session: Session, summariser: Summariser = scriptedSummariser()) {
  return runCompaction({ session, settings, summariser });
}

export function said(message: Message): string {
  return "summary" in message ? message.summary : contentText("content" in message ? message.content : "");
}

/** How often the model sees a text. */
export function seen(session: Session, text: string): number {
  const context = session.projection().items.map((item) => said(item.message));
  return context.join("\n").split(text).length - 1;
}

export const RULE = "Never push to main.";
