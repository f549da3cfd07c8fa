import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError, emptyUsage, type Message, type ToolResultMessage } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { loadCatalogue } from "../src/catalogue/catalogue.ts";
import { finalEvent, ModelClient } from "../src/model-client.ts";
import type { Provider } from "../src/provider.ts";
import {
  readScenario,
  type Scenario,
  type ScenarioAnswer,
  type ScenarioCondition,
  scenarioModel,
} from "../src/scripted/scenario.ts";
import { scenarioProvider, scriptedProvider } from "../src/scripted/scripted.ts";
import { turnOf } from "./openai-exchange.ts";

function scenarioFile(content: unknown): string {
  const file = join(mkdtempSync(join(tmpdir(), "bonsai-scenario-")), "play.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const sizes = {
  contextWindow: 20_000,
  maxOutputTokens: 2_000,
  usdPerMillionTokens: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
};

function failure(work: () => unknown): BonsaiError {
  try {
    work();
  } catch (error) {
    if (BonsaiError.is(error)) return error;
    throw error;
  }
  throw new Error("It did not fail.");
}

const user = (text: string): Message => ({ role: "user", content: text, timestamp: 0 });
const assistant = (text: string, ...calls: string[]): Message => ({
  role: "assistant",
  content: [
    { type: "text", text },
    ...calls.map((name) => ({ type: "toolCall" as const, id: `${name}-1`, name, arguments: {} })),
  ],
  api: "scripted",
  provider: "scripted",
  model: "m",
  usage: emptyUsage(),
  stopReason: calls.length === 0 ? "stop" : "toolUse",
  timestamp: 0,
});
const result = (toolName: string, text: string, isError = false): ToolResultMessage => ({
  role: "toolResult",
  toolCallId: `${toolName}-1`,
  toolName,
  content: [{ type: "text", text }],
  isError,
  timestamp: 0,
});

async function said(provider: Provider, messages: readonly Message[], baseUrl = ""): Promise<string> {
  const client = new ModelClient({ providers: { scripted: async () => provider } });
  const model = { ...scenarioModel(scenarioFile({ turn: [] })), baseUrl };
  const { message } = await finalEvent(client.stream(turnOf(model, { systemPrompt: "System.", messages })));
  return (
    message.content.map((block) => (block.type === "text" ? block.text : "")).join("") || message.stopReason
  );
}

describe("a scenario file", () => {
  test("has the model's sizes and prices, and what it says", async () => {
    const path = scenarioFile({ ...sizes, turn: [{ text: "one" }, { text: "two" }] });
    expect(scenarioModel(path)).toMatchObject({ provider: "scripted", id: path, baseUrl: path, ...sizes });
    const provider = scenarioProvider(path);
    expect(await said(provider, [user("?")])).toBe("one");
    expect(await said(provider, [user("?")])).toBe("two");
  });

  test("is found by the model's baseUrl, each file with a place of its own", async () => {
    const first = scenarioFile({ turn: [{ text: "a1" }, { text: "a2" }] });
    const second = scenarioFile({ turn: [{ text: "b1" }] });
    const provider = scenarioProvider();
    expect(await said(provider, [user("?")], first)).toBe("a1");
    expect(await said(provider, [user("?")], second)).toBe("b1");
    expect(await said(provider, [user("?")], first)).toBe("a2");
  });

  test("is a model of the catalogue: scripted/PATH, or a provider of models.json", async () => {
    const path = scenarioFile({ ...sizes, turn: [] });
    const home = mkdtempSync(join(tmpdir(), "bonsai-scenario-"));
    writeFileSync(join(home, "play.json"), JSON.stringify({ ...sizes, turn: [] }));
    const models = [{ id: "actor", contextWindow: 9_000 }];
    const providers = [{ provider: "demo", api: "scripted", baseUrl: "play.json", models }];
    writeFileSync(join(home, "models.json"), JSON.stringify({ providers }));
    const { find } = await loadCatalogue({ home, env: {} });
    expect(await find(`scripted/${path}`)).toMatchObject({ id: path, baseUrl: path, ...sizes });
    expect(await find("demo/actor")).toMatchObject({
      ...sizes,
      provider: "demo",
      id: "actor",
      baseUrl: join(home, "play.json"),
      contextWindow: 9_000,
    });
    await expect(find("scripted/nowhere.json")).rejects.toMatchObject({ code: "scenario_unreadable" });
  });

  const answer = (line: unknown) => ({ turn: [line] });
  test("a wrong scenario is refused with its place", () =>
    everyRow([
      ["{", "scenario_unreadable", "Cannot read the scenario"],
      ["[]", "scenario_invalid", "the whole file is [], but must be an object"],
      [{}, "scenario_invalid", "turn is missing, but must be a list"],
      [
        { turn: [], atEnd: "stop" },
        "scenario_invalid",
        'atEnd is "stop", but must be one of "error", "repeat"',
      ],
      [
        { turn: [], contextWindow: 0 },
        "scenario_invalid",
        "contextWindow is 0, but must be a number above 0",
      ],
      [answer("hi"), "scenario_invalid", 'turn[0] is "hi", but must be an object'],
      [answer({ txt: "hi" }), "scenario_invalid", "unknown key turn[0].txt. Known keys: when, times"],
      [answer({ calls: [{}] }), "scenario_invalid", "turn[0].calls[0].name is missing, but must be a string"],
      [answer({ when: { lastTxt: "" } }), "scenario_invalid", "unknown key turn[0].when.lastTxt"],
      [
        answer({ when: { lastTextMatches: "(" } }),
        "scenario_invalid",
        'is "(", but must be a regular expression',
      ],
      [
        answer({ chunkChars: 0 }),
        "scenario_invalid",
        "turn[0].chunkChars is 0, but must be a number above 0",
      ],
      [
        answer({ error: { status: 42, message: "x" } }),
        "scenario_invalid",
        "error.status is 42, but must be a number of",
      ],
    ])(([content, code, told]) => {
      const path = scenarioFile(content);
      const error = failure(() => readScenario(path));
      expect(error.code).toBe(code);
      expect(error.message).toContain(path);
      expect(error.message).toContain(told);
    }));

  test("the error for a missing scenario file names it", () => {
    const error = failure(() => readScenario("/nonexistent/play.json"));
    expect(error.code).toBe("scenario_unreadable");
    expect(error.message).toContain("/nonexistent/play.json");
  });
});

describe("an answer that waits for something", () => {
  const waiting = (when: ScenarioCondition): Scenario => ({
    turn: [{ when, text: "now" }, { text: "else" }],
  });
  const failed = [user("go"), assistant("a", "bash"), result("bash", "1 test failed", true)];
  const both = assistant("a", "bash", "read");
  const parallel = [user("go"), both, result("bash", "1 test failed", true), result("read", "content")];
  test.each<[string, ScenarioCondition, readonly Message[], boolean]>([
    ["the last tool", { lastTool: "bash" }, failed, true],
    ["one of several last tools", { lastTool: "bash" }, parallel, true],
    ["another tool", { lastTool: "read" }, failed, false],
    ["a tool before the last answer", { lastTool: "bash" }, [...failed, assistant("b"), user("u")], false],
    ["what the tool said", { lastTool: "bash", lastTextMatches: "\\d tests? failed" }, parallel, true],
    ["what the tool did not say", { lastTool: "bash", lastTextMatches: "passed" }, failed, false],
    ["what another tool said", { lastTool: "bash", lastTextMatches: "content" }, parallel, false],
    ["a failure", { lastToolFailed: true }, failed, true],
    ["a success", { lastToolFailed: false }, failed, false],
    ["a success, without tools", { lastToolFailed: false }, [user("go")], false],
    ["the last message's text", { lastTextMatches: "^go$" }, [user("x"), user("line\ngo")], true],
    ["an earlier message's text", { lastTextMatches: "go" }, [user("go"), user("x")], false],
    ["the user's last words", { lastUserMatches: "go" }, failed, true],
    ["the user's earlier words", { lastUserMatches: "go" }, [user("go"), user("stay")], false],
    ["any text", { anyTextMatches: "failed" }, [...failed, assistant("b")], true],
    ["the system prompt", { anyTextMatches: "^System" }, [user("x")], true],
    ["nothing at all", {}, [user("x")], true],
    ["all parts at once", { lastTool: "bash", lastUserMatches: "stay" }, failed, false],
  ])("%s", async (_name, when, messages, expected) => {
    expect(await said(scriptedProvider(waiting(when)), messages)).toBe(expected ? "now" : "else");
  });

  test("is given once or as often as it says, the others in order", async () => {
    const when = { lastTool: "bash" };
    const turn: ScenarioAnswer[] = [
      { text: "a" },
      { when, text: "x", times: 2 },
      { text: "b" },
      { when, text: "y" },
      { text: "c" },
    ];
    const provider = scriptedProvider({ turn });
    const heard = [];
    for (const messages of [failed, [user("?")], failed, failed, [user("?")], failed])
      heard.push(await said(provider, messages));
    expect(heard.join("")).toBe("xaxybc");
  });
});
