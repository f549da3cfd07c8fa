import { type Message, messageText } from "@bonsai-agent/messages";
import { type ProviderCall, ProviderError } from "../provider.ts";
import type { Scenario, ScenarioAnswer, ScenarioCondition, ScriptedModel } from "./scenario.ts";

/** Plays a scenario: an answer whose condition holds goes first, the others come in order. */
export function scenarioPlayer({
  turn,
  summary = [],
  title = [],
  extension = [],
  atEnd = "error",
}: Scenario): ScriptedModel {
  const parts = {
    turn: new Part(turn, atEnd),
    summary: new Part(summary, atEnd),
    title: new Part(title, atEnd),
    extension: new Part(extension, atEnd),
  };
  return (call) => parts[call.purpose].next(call);
}

/** The answers to requests of one purpose. Owner of what was played of them. */
class Part {
  readonly #waiting: { line: ScenarioAnswer; left: number }[];
  readonly #lines: readonly ScenarioAnswer[];
  readonly #repeats: boolean;
  #played = 0;

  constructor(answers: readonly ScenarioAnswer[], atEnd: "error" | "repeat") {
    this.#waiting = answers
      .filter(({ when }) => when !== undefined)
      .map((line) => ({ line, left: line.times ?? 1 }));
    this.#lines = answers
      .filter(({ when }) => when === undefined)
      .flatMap((line) => Array<ScenarioAnswer>(line.times ?? 1).fill(line));
    this.#repeats = atEnd === "repeat";
  }

  next(call: ProviderCall): ScenarioAnswer {
    const ready = this.#waiting.find(({ line, left }) => left > 0 && holds(line.when!, call));
    if (ready !== undefined) {
      ready.left -= 1;
      return ready.line;
    }
    const at = this.#repeats ? this.#played % this.#lines.length : this.#played;
    const line = this.#lines[at];
    if (line === undefined) throw ended(call.purpose, this.#played);
    this.#played += 1;
    return line;
  }
}

function ended(purpose: string, played: number): ProviderError {
  return new ProviderError({
    kind: "refused",
    status: 400,
    code: "scenario_ended",
    message: `The scenario has no answer left for ${purpose === "extension" ? "an" : "a"} ${purpose}: ${played} were given, and no condition holds.`,
  });
}

function holds(condition: ScenarioCondition, { messages, systemPrompt }: ProviderCall): boolean {
  const { lastTool, lastToolFailed, lastTextMatches, lastUserMatches, anyTextMatches } = condition;
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const results = since.filter((message) => message.role === "toolResult");
  const named = lastTool === undefined ? results : results.filter(({ toolName }) => toolName === lastTool);
  if (lastTool !== undefined && named.length === 0) return false;
  if (lastToolFailed !== undefined && !named.some(({ isError }) => isError === lastToolFailed)) return false;
  const last: readonly Message[] = lastTool === undefined ? messages.slice(-1) : named;
  const users = messages.filter(({ role }) => role === "user");
  return (
    matches(lastTextMatches, last.map(messageText)) &&
    matches(lastUserMatches, users.slice(-1).map(messageText)) &&
    matches(anyTextMatches, [systemPrompt, ...messages.map(messageText)])
  );
}

function matches(pattern: string | undefined, texts: readonly string[]): boolean {
  if (pattern === undefined) return true;
  const expression = new RegExp(pattern, "m");
  return texts.some((text) => expression.test(text));
}
