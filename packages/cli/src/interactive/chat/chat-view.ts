import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { type AssistantMessage, messageText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type { Screen } from "../screen.ts";
import { Markdown, Spacer, Text } from "../terminal/tui.ts";

/** Owner of what the chat shows: what the session has at its leaf, and what is being said. */
export class ChatView {
  readonly #screen: Screen;
  #answer: Markdown | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_start", ({ message }) => {
      if (message.role === "user") this.line(`> ${messageText(message)}`);
      if (message.role === "assistant") this.#begin();
    });
    lifecycle.on("message_update", ({ message }) => this.#show(message));
    lifecycle.on("message_stored", ({ message }) => {
      if (message.role === "assistant") this.#show(message);
    });
    lifecycle.on("tool_execution_start", ({ toolName, args }) =>
      this.line(this.#screen.theme.style.toolName(`${toolName} ${JSON.stringify(args)}`)),
    );
  }

  /** Shows the session as it stands at its leaf, in the place of everything before. */
  rebuild(session: Session): void {
    this.#screen.chat.clear();
    for (const { message } of session.projection().items)
      this.line(`${message.role}: ${messageText(message)}`);
    this.#screen.redraw();
  }

  /** A line that is no part of the session. */
  line(text: string): void {
    this.#screen.chat.addChild(new Spacer(1));
    this.#screen.chat.addChild(new Text(text, 1, 0));
    this.#screen.redraw();
  }

  #begin(): void {
    this.#answer = new Markdown("", 1, 0, this.#screen.theme.markdown);
    this.#screen.chat.addChild(new Spacer(1));
    this.#screen.chat.addChild(this.#answer);
  }

  #show(message: AssistantMessage): void {
    if (this.#answer === undefined) this.#begin();
    this.#answer?.setText(messageText(message));
    this.#screen.redraw();
  }
}
