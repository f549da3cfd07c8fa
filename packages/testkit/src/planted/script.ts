import { emptyUsage, type Message } from "@bonsai-agent/messages";

/** Writes messages one after the other. */
export class MessageScript {
  readonly messages: Message[] = [];
  #calls = 0;

  user(text: string): void {
    this.messages.push({ role: "user", content: [{ type: "text", text }], timestamp: this.#now() });
  }

  answer(text: string): void {
    this.messages.push(this.#assistant([{ type: "text", text }], "stop"));
  }

  call(name: string, args: Record<string, unknown>, output: string, isError = false): void {
    const id = `call_${++this.#calls}`;
    this.messages.push(this.#assistant([{ type: "toolCall", id, name, arguments: args }], "toolUse"));
    this.messages.push({
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text: output }],
      isError,
      timestamp: this.#now(),
    });
  }

  #assistant(
    content: Extract<Message, { role: "assistant" }>["content"],
    stopReason: "stop" | "toolUse",
  ): Message {
    const origin = { api: "scripted", provider: "scripted", model: "scripted" };
    return { role: "assistant", content, ...origin, usage: emptyUsage(), stopReason, timestamp: this.#now() };
  }

  #now(): number {
    return Date.UTC(2026, 0, 5) + this.messages.length * 1_000;
  }
}
