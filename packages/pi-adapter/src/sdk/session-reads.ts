import type { Agent } from "@bonsai-agent/agent";
import { type AssistantMessage, type Message, messageText } from "@bonsai-agent/messages";
import { type PiModel, piModel } from "../models/model.ts";
import { withBlocks } from "../models/requests.ts";

/** The read-only part of pi's session. */
export class SessionReads {
  readonly #agent: Agent;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  getSteeringMessages(): string[] {
    return this.#agent.state.steering.map(({ text }) => text);
  }

  getFollowUpMessages(): string[] {
    return this.#agent.state.followUps.map(({ text }) => text);
  }

  get pendingMessageCount(): number {
    return this.getSteeringMessages().length + this.getFollowUpMessages().length;
  }

  get model(): PiModel {
    return piModel(this.#agent.model);
  }

  get thinkingLevel(): string {
    return this.#agent.state.thinking;
  }

  get messages(): Message[] {
    return this.#agent.session.projection().items.map(({ message }) => withBlocks(message));
  }

  get state() {
    const { messages } = this;
    const last = messages.at(-1);
    return {
      messages,
      model: this.model,
      thinkingLevel: this.thinkingLevel,
      systemPrompt: this.systemPrompt,
      tools: this.#agent.tools
        .activeTools()
        .map(({ name, description, parameters }) => ({ name, description, parameters })),
      isStreaming: this.isStreaming,
      errorMessage: last?.role === "assistant" ? last.errorMessage : undefined,
    };
  }

  get isStreaming(): boolean {
    return this.#agent.isBusy;
  }

  get isIdle(): boolean {
    return !this.#agent.isBusy;
  }

  get isCompacting(): boolean {
    return this.#agent.isCompacting;
  }

  get isRetrying(): boolean {
    return false;
  }

  get systemPrompt(): string {
    return this.#agent.systemPrompt;
  }

  get sessionFile(): string | undefined {
    return this.#agent.session.file;
  }

  get sessionId(): string {
    return this.#agent.session.id;
  }

  get sessionName(): string | undefined {
    return this.#agent.session.name;
  }

  getActiveToolNames(): string[] {
    return [...this.#agent.tools.active];
  }

  getAllTools(): { name: string; description: string; parameters: object }[] {
    return this.#agent.tools.allTools().map(({ declaration }) => ({ ...declaration }));
  }

  getToolDefinition(name: string) {
    return this.getAllTools().find((tool) => tool.name === name);
  }

  get autoCompactionEnabled(): boolean {
    return this.#agent.settings.compaction.enabled;
  }

  getContextUsage(): { tokens: number; contextWindow: number; percent: number | null } {
    const { tokens, windowTokens = 0, percent = null } = this.#agent.state.context;
    return { tokens, contextWindow: windowTokens, percent };
  }

  getSessionStats(): object {
    const all = this.#agent.session
      .entries()
      .flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    const of = (role: string) => all.filter((message) => message.role === role);
    const answers = of("assistant") as AssistantMessage[];
    const sum = (read: (answer: AssistantMessage) => number | undefined) =>
      answers.reduce((total, answer) => total + (read(answer) ?? 0), 0);
    return {
      sessionFile: this.sessionFile,
      sessionId: this.sessionId,
      userMessages: of("user").length,
      assistantMessages: answers.length,
      toolCalls: answers.flatMap(({ content }) => content).filter(({ type }) => type === "toolCall").length,
      toolResults: of("toolResult").length,
      totalMessages: all.length,
      tokens: {
        input: sum(({ usage }) => usage.input),
        output: sum(({ usage }) => usage.output),
        cacheRead: sum(({ usage }) => usage.cacheRead),
        cacheWrite: sum(({ usage }) => usage.cacheWrite),
        total: sum(({ usage }) => usage.totalTokens),
      },
      cost: sum(({ usage }) => usage.cost?.total),
      contextUsage: this.getContextUsage(),
    };
  }

  getUserMessagesForForking(): { entryId: string; text: string }[] {
    return this.#agent.session
      .entries()
      .flatMap((entry) =>
        entry.type === "message" && entry.message.role === "user"
          ? [{ entryId: entry.id, text: messageText(entry.message as Message) }]
          : [],
      );
  }

  getLastAssistantText(): string | undefined {
    const answer = this.messages.findLast(({ role }) => role === "assistant");
    return answer === undefined ? undefined : messageText(answer);
  }
}
