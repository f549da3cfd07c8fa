import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSessions } from "@bonsai-agent/session";
import { type LoopbackReply, type LoopbackRequest, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AgentProject, agentProject, says } from "./agent-project.ts";
import { Bonsai, endless, latest, roles, runShell } from "./bonsai-process.ts";
import { runCli } from "./run-cli.ts";

const model = ["--model", "box/coder"];

/** A project whose home declares a loopback server with these answers. */
async function served(
  answer: (request: LoopbackRequest, index: number) => LoopbackReply,
  api: "openai-chat" | "openai-responses" = "openai-chat",
) {
  const project = agentProject(says(""));
  const server = await loopbackServer(answer);
  onTestFinished(() => server.close());
  const box = { provider: "box", baseUrl: `${server.url}/v1`, api };
  const models = [{ id: "coder", contextWindow: 32_768, maxOutputTokens: 2_000 }];
  writeFileSync(join(project.home, "models.json"), JSON.stringify({ providers: [{ ...box, models }] }));
  return { project, server };
}

/** Runs the command in the test's own process, with the server's model. */
const runInProcess = ({ cwd, env }: AgentProject, argv: readonly string[], more = {}) =>
  runCli([...argv, ...model], { cwd, env: { ...env, ...more }, stdin: "" });

function reply(text: string, end: LoopbackReply["end"] = "close"): LoopbackReply {
  const chunk = (delta: object, finish: string | null) => ({
    data: { id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] },
  });
  const chunks = sseChunks([
    chunk({ role: "assistant", content: text }, null),
    ...(end === "close" ? [chunk({}, "stop"), { data: "[DONE]" }] : []),
  ]);
  return { headers: { "content-type": "text/event-stream" }, chunks, end };
}

/** A call of bash first, and then the answer. */
function responsesReply(index: number): LoopbackReply {
  const call = { type: "function_call", id: "fc_0", call_id: "call_0", name: "bash", status: "completed" };
  const text = { type: "output_text", text: "All done.", annotations: [] };
  const item =
    index === 0
      ? { ...call, arguments: '{"command":"echo step"}' }
      : { type: "message", id: "msg_0", role: "assistant", status: "completed", content: [text] };
  const usage = { input_tokens: 150, output_tokens: 12, total_tokens: 162 };
  const response = { id: "r", object: "response", created_at: 0, status: "completed", output: [item], usage };
  const part = { output_index: 0, content_index: 0, item_id: item.id };
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [], arguments: "" } },
    ...(index === 0
      ? []
      : [
          { type: "response.content_part.added", ...part, part: { ...text, text: "" } },
          { type: "response.output_text.delta", ...part, delta: "All done." },
        ]),
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ];
  const chunks = sseChunks(
    events.map((data, at) => ({ event: data.type, data: { ...data, sequence_number: at } })),
  );
  return { headers: { "content-type": "text/event-stream" }, chunks };
}

describe("over the wire", () => {
  test("-c continues with the user's message after kill -9 during an answer", async () => {
    const { project, server } = await served((_, index) =>
      index === 0 ? reply("half an ans", "hang") : reply("a whole answer"),
    );
    const killed = new Bonsai(project, ["--mode", "json", "the task", ...model]);
    killed.child.stdin.end();
    await killed.printed("half an ans");
    killed.child.kill("SIGKILL");
    expect((await killed.ended).signal).toBe("SIGKILL");
    expect(roles(latest(project))).toEqual(["user"]);
    const next = await runInProcess(project, ["-c", "-p", "go on"]);
    expect(next).toMatchObject({ code: 0, stdout: "a whole answer\n" });
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("the task");
    expect(roles(latest(project))).toEqual(["user", "user", "assistant"]);
  });

  test("a run over OpenAI's Responses calls a tool, prints the answer and counts the usage", async () => {
    const { project, server } = await served((_, index) => responsesReply(index), "openai-responses");
    const { code, stdout, stderr } = await runInProcess(project, ["-p", "hi"]);
    expect([code, stdout]).toEqual([0, "All done.\n"]);
    expect(stderr).toContain("· bash echo step");
    expect(stderr).toContain("300 tokens in, 24 out");
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/responses", "/v1/responses"]);
    expect(server.requests[1]!.body).toMatchObject({
      input: expect.arrayContaining([
        expect.objectContaining({ type: "function_call_output", call_id: "call_0", output: "step" }),
      ]),
    });
    expect(roles(latest(project))).toEqual(["user", "assistant", "toolResult", "assistant"]);
  });

  test("-p reads its prompt from a pipe, and ends with its answer while the server keeps the connection open", async () => {
    const { project } = await served(() => ({
      ...reply("done"),
      headers: { "content-type": "text/event-stream", connection: "keep-alive" },
    }));
    const bonsai = new Bonsai(project, ["-p", ...model]);
    bonsai.child.stdin.end("hello\n");
    expect(await bonsai.ended).toMatchObject({ code: 0, stdout: "done\n" });
    expect(listSessions(project).sessions[0]!.firstWords).toBe("hello");
  });

  test("an overflow compacts the context, and the retried answer is printed", async () => {
    const refusal = {
      error: {
        message:
          "This model's maximum context length is 32768 tokens. However, your messages resulted in 40000 tokens.",
        code: "context_length_exceeded",
      },
    };
    const { project, server } = await served((_, index) =>
      index === 3
        ? { status: 400, headers: { "content-type": "application/json" }, chunks: [JSON.stringify(refusal)] }
        : reply(`answer ${index}`),
    );
    const env = { BONSAI_DISABLE_AUTOCOMPACT: "1" };
    for (const flags of [[], ["-c"], ["-c"]])
      await runInProcess(project, [...flags, "word ".repeat(8_000)], env);
    const { code, stdout, stderr } = await runInProcess(project, ["-c", "-p", "and now?"], env);
    expect([code, stdout]).toEqual([0, `answer ${server.requests.length - 1}\n`]);
    expect(stderr).toContain("Context overflow detected, Auto-compacting…");
    expect(server.requests.length).toBeGreaterThan(4);
  });
});

describe("pipes", () => {
  test("-p does not wait for a closed input", () => {
    const project = agentProject(says("yes"));
    const closed = `"$0" "$@" -p hello ${project.model.join(" ")} <&-`;
    expect(runShell(project, closed).stdout).toBe("yes\n");
  });

  test("--mode rpc stops its work like after a signal when its client leaves", async () => {
    const project = agentProject(endless);
    const bonsai = new Bonsai(project, ["--mode", "rpc", ...project.model]);
    bonsai.child.stdin.on("error", () => {});
    bonsai.child.stdin.write('{"type":"prompt","message":"hi"}\n');
    await bonsai.printed('"tool_execution_end"');
    bonsai.child.stdout.destroy();
    bonsai.child.stdin.write('{"type":"get_state"}\n'.repeat(20));
    expect(await bonsai.ended).toMatchObject({ code: 130, stderr: "" });
    expect(roles(latest(project)).slice(0, 3)).toEqual(["user", "assistant", "toolResult"]);
  });
});
