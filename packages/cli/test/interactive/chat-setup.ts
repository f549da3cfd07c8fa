import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { type AssistantMessage, emptyUsage, type Message } from "@bonsai-agent/messages";
import { createSession, type EntryDraftWithId, type Session } from "@bonsai-agent/session";
import { ChatView } from "../../src/interactive/chat/chat-view.ts";
import { Screen } from "../../src/interactive/terminal/screen.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { stripTerminalSequences } from "../../src/interactive/terminal/tui.ts";
import { HeadlessTerminal } from "./headless-terminal.ts";

export const timestamp = 0;

export function opened(
  session: Session = createSession({ cwd: "/project" }),
  now: () => number = () => 0,
  theme = makeTheme("none"),
) {
  const screen = new Screen({ terminal: new HeadlessTerminal(), theme });
  const chat = new ChatView(screen, { now });
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules, onNotice: () => {} });
  chat.listen(lifecycle);
  const text = (width = 60) =>
    screen.chat
      .render(width)
      .map((line) => stripTerminalSequences(line).trimEnd())
      .join("\n");
  return { chat, screen, lifecycle, session, text };
}

export function stored(message: Message) {
  return { type: "message", message } as EntryDraftWithId;
}

export function answer(
  content: AssistantMessage["content"],
  over: Partial<AssistantMessage> = {},
): AssistantMessage {
  const fixed = {
    api: "scripted",
    provider: "scripted",
    model: "m",
    usage: emptyUsage(),
    stopReason: "stop",
  };
  return { role: "assistant", content, timestamp, ...fixed, ...over };
}

export function result(toolCallId: string, text: string, over: object = {}): Message {
  const content = [{ type: "text" as const, text }];
  return { role: "toolResult", toolCallId, toolName: "bash", content, isError: false, timestamp, ...over };
}

export const bash = (id: string, command: string) =>
  ({ type: "toolCall", id, name: "bash", arguments: { command } }) as const;
