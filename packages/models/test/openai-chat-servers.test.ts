import type { Message } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { CatalogueModel, ProviderCall } from "../src/index.ts";
import { chatRequest } from "../src/openai/openai-chat.ts";
import {
  answerOf,
  at,
  callOf,
  callOfTool,
  gpt,
  local,
  readTool,
  resultOf,
  sent,
  user,
} from "./openai-exchange.ts";

/** What a request has beside model, messages and stream. */
function fields(model: CatalogueModel, parts: Partial<ProviderCall> = {}): Record<string, unknown> {
  const {
    model: _model,
    messages,
    stream: _stream,
    tools: _tools,
    ...rest
  } = chatRequest(callOf({ model, maxOutputTokens: 100, cacheKey: "s-1", thinking: "high", ...parts }));
  return { ...rest, role: messages[0]?.role };
}

describe("servers", () => {
  const usage = { stream_options: { include_usage: true } };
  const thinks = { reasoning: true };
  const short = { role: "system", max_tokens: 100 };
  const plain = { ...short, ...usage };
  const completion = { role: "system", max_completion_tokens: 100, ...usage };
  const switchedOn = { thinking: { type: "enabled" } };
  const high = { reasoning_effort: "high" };

  test("each server gets only the fields that it takes", () =>
    everyRow<[string, CatalogueModel, Record<string, unknown>]>([
      ["an unknown one", at("mine", "http://10.0.0.7:9000/v1", "x", thinks), plain],
      ["Ollama", at("ollama", "http://127.0.0.1:11434/v1"), plain],
      [
        "OpenAI, thinking",
        at("openai", "https://api.openai.com/v1", "gpt-5.2", thinks),
        { role: "developer", max_completion_tokens: 100, ...usage, prompt_cache_key: "s-1", ...high },
      ],
      [
        "OpenAI, not thinking",
        at("openai", "https://api.openai.com/v1", "gpt-4.1"),
        { ...completion, prompt_cache_key: "s-1" },
      ],
      [
        "DeepSeek",
        at("deepseek", "https://api.deepseek.com", "deepseek-v4-pro", thinks),
        { ...plain, ...switchedOn, ...high },
      ],
      [
        "Moonshot",
        at("moonshotai", "https://api.moonshot.ai/v1", "kimi-k2.6", thinks),
        { ...plain, ...switchedOn },
      ],
      [
        "Moonshot's always thinking",
        at("moonshotai", "https://api.moonshot.ai/v1", "kimi-k3", thinks),
        plain,
      ],
      [
        "z.ai",
        at("zai", "https://api.z.ai/api/coding/paas/v4", "glm-5.2", thinks),
        { ...plain, ...switchedOn },
      ],
      [
        "Google",
        at("google", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3.8-flash", thinks),
        { ...plain, ...high },
      ],
      [
        "Mistral",
        at("mistral", "https://api.mistral.ai/v1", "mistral-medium-3.5", thinks),
        { ...short, ...high },
      ],
      [
        "Mistral's others",
        at("mistral", "https://api.mistral.ai/v1", "magistral-medium-latest", thinks),
        short,
      ],
      [
        "Groq",
        at("groq", "https://api.groq.com/openai/v1", "qwen/qwen3.8-27b", thinks),
        { ...completion, reasoning_effort: "default" },
      ],
      ["xAI", at("xai", "https://api.x.ai/v1", "grok-4.3", thinks), { ...completion, ...high }],
      ["xAI's others", at("xai", "https://api.x.ai/v1", "grok-4.7", thinks), completion],
      [
        "OpenRouter",
        at("openrouter", "https://openrouter.ai/api/v1", "anthropic/claude-fable-5", thinks),
        { ...plain, reasoning: { effort: "high" } },
      ],
      ["a known host under a name of the user's", at("work", "https://eu.api.mistral.ai/v1", "x"), short],
      ["a proxy under a known name", at("mistral", "http://127.0.0.1:4000", "x"), short],
      ["a host that only ends alike", at("evil", "https://notmistral.ai/v1", "x"), plain],
    ])(([, model, expected]) => {
      expect(fields(model)).toEqual(expected);
    }));

  test("llama.cpp is asked to call several tools at once", () => {
    const tools = [readTool];
    expect(fields(at("llama.cpp", "http://127.0.0.1:8080/v1"), { tools })).toMatchObject({
      parallel_tool_calls: true,
    });
    expect(fields(local, { tools })).not.toHaveProperty("parallel_tool_calls");
  });
});

describe("thinking levels", () => {
  const levels = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;
  const openai = (id: string) => at("openai", "https://api.openai.com/v1", id, { reasoning: true });

  test("each model gets the efforts that it takes, by level", () =>
    everyRow([
      [openai("o3"), "low low low medium high high"],
      [openai("gpt-5"), "minimal minimal low medium high high"],
      [openai("gpt-5-mini"), "minimal minimal low medium high high"],
      [openai("gpt-5-pro"), "high high high high high high"],
      [openai("gpt-5.1"), "none low low medium high high"],
      [openai("gpt-5.2"), "none low low medium high xhigh"],
      [openai("gpt-5.4-mini"), "none low low medium high xhigh"],
      [openai("gpt-5.4-pro"), "medium medium medium medium high xhigh"],
      [openai("gpt-5.3-codex"), "low low low medium high xhigh"],
      [openai("gpt-6.1-sol"), "none low low medium high xhigh"],
      [openai("chat-latest"), "- - - - - -"],
      [at("google", "", "gemini-3-pro-preview", { reasoning: true }), "low low low high high high"],
      [at("google", "", "gemini-2.5-flash", { reasoning: true }), "none low low medium high high"],
      [at("google", "", "gemini-2.5-pro", { reasoning: true }), "low low low medium high high"],
      [
        at("groq", "", "qwen/qwen3.8-27b", { reasoning: true }),
        "none default default default default default",
      ],
      [at("mistral", "", "mistral-small-latest", { reasoning: true }), "none high high high high high"],
      [at("deepseek", "", "deepseek-flash", { reasoning: true }), "- high high high high max"],
      [{ ...openai("gpt-5.2"), reasoning: false }, "- - - - - -"],
    ])(([model, expected]) => {
      const found = levels.map((thinking) => fields(model, { thinking }).reasoning_effort ?? "-");
      expect(found.join(" ")).toBe(expected);
    }));

  test("off: sent where the server has a switch, left out where the server could refuse it", () => {
    const off = { thinking: "off" as const };
    expect(fields(at("deepseek", "", "deepseek-flash", { reasoning: true }), off)).toMatchObject({
      thinking: { type: "disabled" },
    });
    expect(fields(at("openrouter", "", "openai/o3", { reasoning: true }), off)).not.toHaveProperty(
      "reasoning",
    );
  });
});

describe("thinking that goes back", () => {
  const thought = (model: CatalogueModel, thinking = "I see") =>
    answerOf(model, [{ type: "thinking", thinking }, { type: "text", text: "Reading." }, callOfTool("a")]);
  const back = (model: CatalogueModel, answer: Message) =>
    (sent([user("Go"), answer, resultOf("a")], model) as Record<string, unknown>[])[1]?.reasoning_content;
  const deepseek = at("deepseek", "https://api.deepseek.com", "deepseek-v4-pro", { reasoning: true });
  const kimi = at("moonshotai", "https://api.moonshot.ai/v1", "kimi-k2.6", { reasoning: true });
  const glm = at("zai", "https://api.z.ai/api/coding/paas/v4", "glm-5.2", { reasoning: true });

  test.each<[string, CatalogueModel, Message, string | undefined]>([
    ["DeepSeek's own", deepseek, thought(deepseek), "I see"],
    ["Moonshot's own", kimi, thought(kimi), "I see"],
    ["z.ai's own", glm, thought(glm), "I see"],
    ["none, where some is demanded", kimi, thought(kimi, ""), "."],
    ["where nobody asks for it", local, thought(local), undefined],
  ])("%s", (_name, model, answer, expected) => {
    expect(back(model, answer)).toBe(expected);
  });

  test("OpenRouter gets its record back", () => {
    const model = at("openrouter", "https://openrouter.ai/api/v1", "openai/gpt-6-sol", { reasoning: true });
    const reasoning_details = [{ type: "reasoning.encrypted", data: "xyz", id: "rs_1" }];
    const thinkingSignature = JSON.stringify({ reasoning_details });
    const answer = answerOf(model, [{ type: "thinking", thinking: "", thinkingSignature }, callOfTool("a")]);
    expect(sent([answer], model)[0]).toMatchObject({ reasoning_details });
  });

  test("Gemini gets the signatures of its own calls, and a stand-in for those of others", () => {
    const gemini = at(
      "google",
      "https://generativelanguage.googleapis.com/v1beta/openai",
      "gemini-3.8-flash",
      { reasoning: true },
    );
    const signatures = (answer: Message, model: CatalogueModel) =>
      (
        sent([answer], model)[0] as {
          tool_calls: { extra_content?: { google: { thought_signature: string } } }[];
        }
      ).tool_calls.map((call) => call.extra_content?.google.thought_signature);
    const own = answerOf(gemini, [callOfTool("a", { thoughtSignature: "s1" }), callOfTool("b")]);
    const other = answerOf(gpt, [callOfTool("a"), callOfTool("b")]);
    expect(signatures(own, gemini)).toEqual(["s1", undefined]);
    expect(signatures(other, gemini)).toEqual(["skip_thought_signature_validator", undefined]);
    expect(signatures(other, { ...gemini, id: "gemini-2.5-flash" })).toEqual([undefined, undefined]);
    expect(signatures(own, local)).toEqual([undefined, undefined]);
  });
});
