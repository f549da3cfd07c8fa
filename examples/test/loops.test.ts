import type { ContentBlockParam, MessageParam } from "@anthropic-ai/sdk/resources/messages";
import fc from "fast-check";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { beforeAll, expect, test, vi } from "vitest";

let loops: {
  openai: typeof import("../02-openai-loop.ts");
  anthropic: typeof import("../03-anthropic-loop.ts");
};

// The examples play their loops when they are loaded.
beforeAll(async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  loops = {
    openai: await import("../02-openai-loop.ts"),
    anthropic: await import("../03-anthropic-loop.ts"),
  };
}, 60_000);

/** A task of a loop: how much the user says, whether with an image, and the sizes of the results of each answer. */
const tasks = fc.array(
  fc.record({
    words: fc.integer({ min: 1, max: 750 }),
    hasImage: fc.boolean(),
    answers: fc.array(fc.array(fc.integer({ min: 0, max: 1_250 }), { minLength: 1, maxLength: 3 }), {
      maxLength: 4,
    }),
  }),
  { minLength: 1, maxLength: 10 },
);

const IMAGE_GONE = "[image left out: image/png]";
const text = (words: number) => "abc ".repeat(words);

test(
  "02: what goes out is what came in, but for a summary in the place of the oldest, and pairs stay whole",
  () =>
    fc.assert(
      fc.asyncProperty(tasks, async (all) => {
        const history = new loops.openai.History(4_000);
        const pushed: ChatCompletionMessageParam[] = [];
        const push = (param: ChatCompletionMessageParam) => {
          pushed.push(param);
          history.push(param);
        };
        for (const [number, { words, hasImage, answers }] of all.entries()) {
          const image = { type: "image_url" as const, image_url: { url: "https://images.example/1.png" } };
          const said = { type: "text" as const, text: text(words) };
          push({ role: "user", content: hasImage ? [said, image] : said.text });
          for (const [step, sizes] of answers.entries()) {
            const ids = sizes.map((_, index) => `call_${number}_${step}_${index}`);
            const called = { name: "look", arguments: "{not json" };
            push({
              role: "assistant",
              content: null,
              tool_calls: ids.map((id) => ({ id, type: "function", function: called })),
            });
            for (const [index, size] of sizes.entries())
              push({ role: "tool", tool_call_id: ids[index]!, content: text(size) });
            checkOpenAi(await history.forRequest(), pushed);
          }
          push({ role: "assistant", content: "done" });
          checkOpenAi(await history.forRequest(), pushed);
        }
      }),
    ),
  60_000,
);

function checkOpenAi(sent: ChatCompletionMessageParam[], pushed: ChatCompletionMessageParam[]): void {
  const kept = sent[0] === pushed[0] ? sent : sent.slice(1);
  const original = pushed.slice(pushed.length - kept.length);
  kept.forEach((param, index) => {
    const came = original[index]!;
    // A result may be masked, and an image left out; nothing else is touched.
    const isImageGone =
      JSON.stringify(param).includes(IMAGE_GONE) && JSON.stringify(came).includes("image_url");
    const isEdited = param.role === "tool" || isImageGone;
    expect(param).toEqual(isEdited ? { ...came, content: param.content } : came);
  });
  const open = new Set<string>();
  for (const param of sent) {
    if (param.role === "tool") expect(open.delete(param.tool_call_id)).toBe(true);
    else expect(open.size).toBe(0);
    if (param.role === "assistant") for (const { id } of param.tool_calls ?? []) open.add(id);
  }
  expect(open.size).toBe(0);
}

test(
  "03: what goes out is what came in, but for a summary in the place of the oldest, and pairs stay whole",
  () =>
    fc.assert(
      fc.asyncProperty(tasks, async (all) => {
        const history = new loops.anthropic.History(4_000);
        const pushed: MessageParam[] = [];
        const push = (param: MessageParam) => {
          pushed.push(param);
          history.push(param);
        };
        for (const [number, { words, hasImage, answers }] of all.entries()) {
          const image = {
            type: "image" as const,
            source: { type: "url" as const, url: "https://images.example/1" },
          };
          const said = { type: "text" as const, text: text(words) };
          push({ role: "user", content: hasImage ? [said, image] : said.text });
          for (const [step, sizes] of answers.entries()) {
            const ids = sizes.map((_, index) => `toolu_${number}_${step}_${index}`);
            push({
              role: "assistant",
              content: [
                { type: "thinking", thinking: "Let me look.", signature: "c2lnbmVk" },
                ...ids.map((id) => ({ type: "tool_use" as const, id, name: "look", input: {} })),
              ],
            });
            push({
              role: "user",
              content: sizes.map((size, index) => ({
                type: "tool_result",
                tool_use_id: ids[index]!,
                content: text(size),
              })),
            });
            checkAnthropic(await history.forRequest(), pushed);
          }
          push({ role: "assistant", content: "done" });
          checkAnthropic(await history.forRequest(), pushed);
        }
      }),
    ),
  60_000,
);

function checkAnthropic(sent: MessageParam[], pushed: MessageParam[]): void {
  expect(sent.map(({ role }) => role)).toEqual(
    sent.map((_, index) => (index % 2 === 0 ? "user" : "assistant")),
  );
  const kept = sent.flatMap(textsAndCalls);
  const all = pushed.flatMap(textsAndCalls);
  if (JSON.stringify(kept[0]) !== JSON.stringify(all[0])) kept.shift();
  const original = all.slice(all.length - kept.length);
  kept.forEach((block, index) => {
    const came = original[index]!;
    expect(block).toEqual(block.type === "tool_result" ? { ...came, content: block.content } : came);
  });
  sent.forEach((param, index) => {
    const called = blocksOf(param).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
    if (called.length === 0) return;
    const answered = blocksOf(sent[index + 1]!).flatMap((block) =>
      block.type === "tool_result" ? [block.tool_use_id] : [],
    );
    expect(answered).toEqual(called);
  });
}

/** Without images, which may be left out, and without the line that says so. */
function textsAndCalls(param: MessageParam): ContentBlockParam[] {
  return blocksOf(param)
    .filter(({ type }) => type !== "image")
    .map((block) =>
      block.type === "text" ? { ...block, text: block.text.replace(`\n${IMAGE_GONE}`, "") } : block,
    );
}

function blocksOf({ content }: MessageParam): ContentBlockParam[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
