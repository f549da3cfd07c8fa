import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { everythingOverHttp } from "./http-servers.ts";
import { calling, everything, filesystem, openMcpSession, script } from "./mcp-session.ts";

const transports = {
  stdio: async () => ({ ...script(everything, "stdio"), [Symbol.asyncDispose]: async () => {} }),
  "streamable HTTP": everythingOverHttp,
};

describe.each(Object.entries(transports))("server-everything over %s", (_transport, start) => {
  test("answers calls with every kind of content, and a call that the user stops is cancelled", async () => {
    await using server = await start();
    await using mcp = await openMcpSession(
      // It prints an error if the connection ends while it asks for roots.
      { everything: { ...server, roots: false } },
      {
        answers: [
          calling(
            ["mcp__everything__echo", { message: "hello" }],
            ["mcp__everything__get-tiny-image"],
            ["mcp__everything__get-resource-links", { count: 2 }],
            ["mcp__everything__get-resource-reference", { resourceType: "Text", resourceId: 1 }],
            ["mcp__everything__get-structured-content", { location: "Chicago" }],
            ["mcp__everything__get-sum", { a: "two", b: 3 }],
            ["mcp__everything__trigger-long-running-operation", { duration: 0.02, steps: 2 }],
          ),
          "Done.",
          calling(["mcp__everything__trigger-long-running-operation", { duration: 600, steps: 6_000 }]),
          calling(["mcp__everything__echo", { message: "still here" }]),
          "Done.",
        ],
      },
    );
    const progress: string[] = [];
    mcp.session.lifecycle.on(
      "tool_execution_update",
      ({ partialResult }) => {
        const [block] = partialResult.content;
        if (block?.type === "text") progress.push(block.text);
      },
      { source: "test" },
    );
    expect(await mcp.session.prompt("Go.")).toMatchObject({ status: "done" });

    expect(mcp.offered()).toContain("mcp__everything__get-sum");
    const declared = mcp.session.requests[0]!.tools.find(({ name }) => name === "mcp__everything__echo");
    expect(declared).toMatchObject({
      description: "Echoes back the input string",
      parameters: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    });
    const [echo, image, links, resource, data, sum, long] = mcp.results();
    expect(echo).toEqual({
      text: "Echo: hello",
      images: 0,
      isError: false,
      details: { server: "everything", tool: "echo" },
    });
    expect(image).toMatchObject({ images: 1, isError: false });
    expect(links!.text).toMatch(/\[link to the resource demo:\/\/resource\/dynamic\/\w+\/1: /);
    expect(resource!.text).toMatch(/\[resource demo:\/\/resource\/dynamic\/text\/1]\nResource 1: /);
    expect(data).toMatchObject({
      text: '{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}',
      details: { structuredContent: { temperature: 36 } },
    });
    expect(sum).toMatchObject({ isError: true, text: expect.stringContaining("expected number") });
    expect(long!.text).toMatch(/^Long running operation completed/);
    expect(progress[0]).toBe("1 of 2");

    mcp.session.lifecycle.on("tool_execution_update", () => mcp.session.agent.abort(), { source: "test" });
    await mcp.session.prompt("Take long.");
    await mcp.session.prompt("Go on.");
    const [stopped, later] = mcp.results().slice(-2);
    expect(stopped).toMatchObject({
      isError: true,
      text: expect.stringContaining("The user stopped this call"),
    });
    expect(later!.text).toBe("Echo: still here");
    expect(mcp.notices).toEqual([]);
  });
});

test("server-filesystem writes, reads and refuses", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-mcp-files-"));
  try {
    writeFileSync(join(folder, "one.txt"), "first line\nsecond line\n");
    await using mcp = await openMcpSession(
      { files: script(filesystem, folder) },
      {
        // The server replaces its own folders with the roots of its client.
        cwd: folder,
        answers: [
          calling(
            ["mcp__files__read_text_file", { path: join(folder, "one.txt") }],
            ["mcp__files__write_file", { path: join(folder, "two.txt"), content: "two" }],
            ["mcp__files__list_directory", { path: folder }],
            ["mcp__files__read_text_file", { path: "/etc/hostname" }],
          ),
          "Done.",
        ],
      },
    );
    await mcp.session.prompt("Go.");
    const [read, , listed, refused] = mcp.results();
    // The structured result only wraps the text.
    expect(read!.text).toBe("first line\nsecond line\n");
    expect(readFileSync(join(folder, "two.txt"), "utf8")).toBe("two");
    expect(listed!.text.match(/\[FILE\] two\.txt/g)).toHaveLength(1);
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("Access denied") });
    expect(mcp.notices).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a late server gets one notice with the flag to wait longer", async () => {
  const mute = { command: process.execPath, args: ["-e", "process.stdin.resume()"] };
  const options = { answers: ["Hello.", "Again."], flags: { "mcp-wait": "0" } };
  await using mcp = await openMcpSession({ mute }, options);
  await mcp.session.prompt("Hello.");
  await mcp.session.prompt("Again.");
  expect(mcp.notices).toEqual([
    "MCP: mute is still connecting after 0 s, so its tools may be missing. To wait longer, add `--mcp-wait 30`.",
  ]);
});
