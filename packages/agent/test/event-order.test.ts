import { expect, test } from "vitest";
import {
  calls,
  filler,
  overflow,
  recordEvents,
  type ScriptedAgentOptions,
  scriptedAgent,
} from "./scripted-agent.ts";
import { shellSaying } from "./shell-saying.ts";

/** The events of what is done after the preparation, as one list; repeated updates count once. */
async function orderOf(
  options: ScriptedAgentOptions,
  {
    prepare = [],
    act,
  }: { prepare?: string[]; act: (run: ReturnType<typeof scriptedAgent>) => Promise<unknown> },
): Promise<string[]> {
  const run = scriptedAgent(options);
  for (const text of prepare) await run.agent.prompt(text);
  const names = recordEvents(run.lifecycle);
  await act(run);
  return names.filter((name, at) => name !== "message_update assistant" || names[at - 1] !== name);
}

const message = (role: string) => [`message_start ${role}`, `message_end ${role}`, `message_stored ${role}`];
const opening = ["input", "before_agent_start", "agent_start", "turn_start", ...message("user")];
const asked = ["context", "message_start assistant", "before_provider_request"];
const told = [
  "after_provider_response",
  "message_update assistant",
  "message_end assistant",
  "message_stored assistant",
];
const call = ["tool_execution_start", "tool_call", "tool_result", "tool_execution_end"];
const compaction = [
  "auto_compaction_start",
  "session_before_compact",
  "session_compact",
  "auto_compaction_end",
];
const refused = [
  ...asked,
  "message_update assistant",
  "message_end assistant",
  "message_stored assistant",
  "turn_end",
];

test("a plain prompt", async () => {
  const order = await orderOf({ turn: [{ text: "hello" }] }, { act: ({ agent }) => agent.prompt("hi") });
  expect(order).toEqual([...opening, ...asked, ...told, "turn_end", "agent_end"]);
});

test("a prompt with a tool", async () => {
  const turn = [calls(), { text: "done" }];
  const order = await orderOf({ turn }, { act: ({ agent }) => agent.prompt("hi") });
  expect(order).toEqual([
    ...opening,
    ...[...asked, ...told, ...call, ...message("toolResult"), "turn_end"],
    ...["turn_start", ...asked, ...told, "turn_end"],
    "agent_end",
  ]);
});

test("a text that steers belongs to the turn that it begins", async () => {
  const order = await orderOf(
    { turn: [{ text: "hello" }, { text: "done" }] },
    {
      act: ({ agent, lifecycle }) => {
        const undo = lifecycle.on("message_update", () => {
          undo();
          void agent.prompt("and this", { behavior: "steer" });
        });
        return agent.prompt("hi");
      },
    },
  );
  const turns = order.filter((name) => name.startsWith("turn_") || name === "message_stored user");
  expect(turns).toEqual([
    ...["turn_start", "message_stored user", "turn_end"],
    ...["turn_start", "message_stored user", "turn_end"],
  ]);
});

test("a threshold compaction between tools", async () => {
  const turn = [{ text: "done" }, calls({ tokens: 8_000 }), { text: "done" }];
  const order = await orderOf({ turn }, { prepare: [filler(8_000)], act: ({ agent }) => agent.prompt("hi") });
  expect(order).toEqual([
    ...opening,
    ...[...asked, ...told, ...call, ...message("toolResult"), "turn_end"],
    ...compaction,
    ...["turn_start", ...asked, ...told, "turn_end"],
    "agent_end",
  ]);
});

test("an overflow and its retry", async () => {
  const turn = [{ text: "done" }, { text: "done" }, overflow, { text: "done" }];
  const order = await orderOf(
    { turn },
    { prepare: [filler(4_000), filler(4_000)], act: ({ agent }) => agent.prompt("hi") },
  );
  expect(order).toEqual([
    ...opening,
    ...refused,
    ...compaction,
    ...["turn_start", ...asked, ...told, "turn_end"],
    "agent_end",
  ]);
});

test("an abort while the model speaks", async () => {
  const order = await orderOf(
    { turn: [{ text: "hello ".repeat(20) }] },
    {
      act: ({ agent, lifecycle }) => {
        lifecycle.on("message_update", () => void agent.abort());
        return agent.prompt("hi");
      },
    },
  );
  expect(order).toEqual([...opening, ...asked, ...told, "turn_end", "agent_end"]);
});

test("a failure", async () => {
  const turn = [{ error: { status: 401, message: "invalid key" } }];
  const order = await orderOf({ turn }, { act: ({ agent }) => agent.prompt("hi") });
  expect(order).toEqual([...opening, ...refused, "agent_end"]);
});

test("a manual compaction, a move in the tree, a command of the user's", async () => {
  const turn = [{ text: "done" }, { text: "done" }];
  const order = await orderOf(
    { turn, shell: shellSaying("") },
    {
      prepare: [filler(4_000), filler(8_000)],
      act: async ({ agent, session }) => {
        const first = session.projection().items[0]!.entryId;
        await agent.compact();
        await agent.runUserCommand("true");
        await agent.navigate(first);
      },
    },
  );
  expect(order).toEqual([
    ...compaction,
    ...["user_bash", ...message("bashExecution")],
    ...["session_before_tree", "session_tree"],
  ]);
});
