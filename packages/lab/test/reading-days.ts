import { CostSum, emptyUsage, type Message } from "@bonsai-agent/messages";

const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

/** Turns that read a large file each; `looksBack`: what an earlier one said is asked for again. */
function day(seed: number, { looksBack }: { looksBack: boolean }) {
  const usage = emptyUsage();
  const messages = Array.from({ length: 28 }, (_, turn): Message[] => {
    const at = turn * 60_000;
    const name = (of: number) => `src/module_${seed}_${of}.ts`;
    const call = { type: "toolCall", id: `c${turn}`, name: "read", arguments: { path: name(turn) } };
    const asked = looksBack && turn > 14 ? ` Compare it with value_${seed}_${turn - 14}_kept.` : "";
    const answer = { role: "assistant", api: "x", provider: "made", model: "m", usage, stopReason: "stop" };
    return [
      { role: "user", content: `Look at ${name(turn)}.${asked}`, timestamp: at },
      { ...answer, content: [call], timestamp: at + 1_000 },
      {
        ...{
          role: "toolResult",
          toolCallId: call.id,
          toolName: "read",
          isError: false,
          timestamp: at + 2_000,
        },
        content: [
          { type: "text", text: `const value_${seed}_${turn}_kept = 1;\n${"filler text ".repeat(1_000)}` },
        ],
      },
      { ...answer, content: [{ type: "text", text: "Read." }], timestamp: at + 3_000 },
    ] as Message[];
  }).flat();
  const recorded = { requests: 56, sentTokens: 0, cost: new CostSum(), highestTokens: 0, compactions: 0 };
  const recording = { messages, model: undefined, fixedTokens: 2_000, countRatio: 1, recorded };
  return { recording, prices, windowTokens: 200_000 };
}

/** Two days of different files. */
export const days = (looksBack: boolean) => [1, 2].map((seed) => day(seed, { looksBack }));
