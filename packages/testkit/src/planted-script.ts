import { type AssistantContent, emptyUsage, type Message } from "@bonsai-agent/messages";

/** Writes the messages of a session one after the other; each method returns the index of the message it ends with. */
export class MessageScript {
  readonly messages: Message[] = [];
  #calls = 0;

  user(text: string): number {
    return this.#add({ role: "user", content: [{ type: "text", text }], timestamp: this.#now() });
  }

  /** Run by the user's hand, with `!`. */
  command(command: string, output: string): number {
    const ran = { exitCode: 0, cancelled: false, truncated: false };
    return this.#add({ role: "bashExecution", command, output, ...ran, timestamp: this.#now() });
  }

  answer(text: string): number {
    return this.#assistant([{ type: "text", text }], "stop");
  }

  /** A call and its result, with what the agent says before it. */
  call(name: string, args: Record<string, unknown>, output: string, isError = false, chatter = ""): number {
    const id = `call_${++this.#calls}`;
    const said: AssistantContent[] = chatter === "" ? [] : [{ type: "text", text: chatter }];
    this.#assistant([...said, { type: "toolCall", id, name, arguments: args }], "toolUse");
    const content = [{ type: "text" as const, text: output }];
    const timestamp = this.#now();
    return this.#add({ role: "toolResult", toolCallId: id, toolName: name, content, isError, timestamp });
  }

  #assistant(content: AssistantContent[], stopReason: "stop" | "toolUse"): number {
    const origin = { api: "scripted", provider: "scripted", model: "scripted" };
    const usage = emptyUsage();
    return this.#add({ role: "assistant", content, ...origin, usage, stopReason, timestamp: this.#now() });
  }

  #add(message: Message): number {
    return this.messages.push(message) - 1;
  }

  #now(): number {
    return Date.UTC(2026, 0, 5) + this.messages.length * 1_000;
  }
}
