import { chars4Estimator, IMAGE_TOKENS, type Message } from "@bonsai-agent/messages";
import { chars4FloorEstimator, FRAMES, framed } from "@bonsai-agent/messages/host";
import { describe, expect, it } from "vitest";

const image = { type: "image", data: "aGk=", mimeType: "image/png" } as const;
const user = (content: unknown): Message => ({ role: "user", content, timestamp: 0 }) as Message;
const toolResult = (content: unknown): Message =>
  ({
    role: "toolResult",
    toolCallId: "1",
    toolName: "read",
    content,
    isError: false,
    timestamp: 0,
  }) as Message;

describe("chars4", () => {
  const counts = [
    ["", 0, 0],
    ["1234", 1, 1],
    ["12345", 2, 1],
    ["12345678", 2, 2],
    ["木", 1, 0],
  ] as const;
  it("counts a token for four characters, rounded up or down", () => {
    for (const [text, up, down] of counts) {
      expect.soft(chars4Estimator.text(text), text).toBe(up);
      expect.soft(chars4Estimator.text(text), text).toBe(up);
      expect.soft(chars4FloorEstimator.text(text), text).toBe(down);
    }
  });
});

describe("tokens of messages", () => {
  it.each([
    ["user", user],
    ["tool", toolResult],
  ])("5 characters are 2, nothing is 0, an image is 1,200 in %s messages", (_role, message) => {
    const tokens = (content: unknown) => chars4Estimator.message(message(content));
    expect(tokens([{ type: "text", text: "12345" }])).toBe(2);
    expect(tokens([])).toBe(0);
    expect(tokens([{ type: "text", text: "" }])).toBe(0);
    expect(tokens([image])).toBe(IMAGE_TOKENS);
    expect(tokens([image, { type: "text", text: "12345" }, image])).toBe(2402);
  });

  it("a string is one text, and blocks are rounded together", () => {
    expect(chars4Estimator.message(user("12345"))).toBe(2);
    const block = { type: "text", text: "12" };
    expect(chars4Estimator.message(user([block, block]))).toBe(1);
  });

  it("an answer is its text, its thinking and its calls with their arguments", () => {
    const answer = (content: unknown) => chars4Estimator.message({ role: "assistant", content } as Message);
    expect(answer([{ type: "text", text: "1234" }])).toBe(1);
    expect(answer([{ type: "thinking", thinking: "1234" }])).toBe(1);
    // bash{"a":"12345"}
    const call = { type: "toolCall", id: "1", name: "bash", arguments: { a: "12345" } };
    expect(answer([call])).toBe(5);
    expect(answer([{ type: "toolCall", id: "1", name: "bash" }])).toBe(2);
  });

  it("a command that is kept out of the context and a system message count nothing", () => {
    const command = { role: "bashExecution", command: "ls", output: "a", cancelled: false, timestamp: 0 };
    const shown = "[The user ran a command:]\n\n$ ls\na\n\n[End of the command's output.]";
    expect(chars4Estimator.message(command as Message)).toBe(chars4Estimator.text(shown));
    expect(chars4Estimator.message({ ...command, excludeFromContext: true } as Message)).toBe(0);
    expect(chars4Estimator.message({ role: "system", content: "12345" })).toBe(0);
  });

  it("the two summary views count their summary and its frame", () => {
    const summary = "12345";
    const views: Message[] = [
      { role: "branchSummary", summary, fromId: null, timestamp: 0 },
      { role: "compactionSummary", summary, tokensBefore: 9, timestamp: 0 },
    ];
    expect(views.map((view) => chars4Estimator.message(view))).toEqual(
      [FRAMES.branchRecord, FRAMES.record].map((frame) => chars4Estimator.text(framed(frame, summary))),
    );
  });
});
