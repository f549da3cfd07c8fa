// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files contain them
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readConfig } from "../src/config.ts";
import { toolNames } from "../src/offered-tool.ts";
import { openMcpSession } from "./mcp-session.ts";

let folder = "";
let home = "";
let cwd = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-mcp-config-"));
  home = join(folder, "home");
  cwd = join(folder, "project");
  for (const each of [home, cwd]) mkdirSync(each);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const userFile = () => join(home, "mcp.json");
const projectFile = () => join(cwd, ".mcp.json");

function read({
  user,
  project,
  isProjectTrusted = true,
  env = {},
}: {
  user?: unknown;
  project?: unknown;
  isProjectTrusted?: boolean;
  env?: NodeJS.ProcessEnv;
}) {
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  if (user !== undefined) writeFileSync(userFile(), text(user));
  if (project !== undefined) writeFileSync(projectFile(), text(project));
  return readConfig({ cwd, home, isProjectTrusted, env });
}

test("--mcp-config adds the servers of a file or of JSON, and they replace others of the same name", () => {
  const given = { mcpServers: { a: { command: "given" }, b: { url: "http://localhost:1" } } };
  writeFileSync(
    userFile(),
    JSON.stringify({ mcpServers: { a: { command: "user" }, c: { command: "user" } } }),
  );
  writeFileSync(join(cwd, "more.json"), JSON.stringify(given));
  const place = { cwd, home, isProjectTrusted: true, env: {} };
  for (const value of ["more.json", JSON.stringify(given)]) {
    const { servers, problems } = readConfig({ ...place, given: value });
    expect(servers).toMatchObject([
      { name: "a", command: "given" },
      { name: "c" },
      { name: "b", type: "http" },
    ]);
    expect(problems).toEqual([]);
  }
  expect(readConfig({ ...place, given: "gone.json" }).problems).toEqual([
    `--mcp-config: ${join(cwd, "gone.json")} does not exist.`,
  ]);
  expect(readConfig({ ...place, given: "{" }).problems[0]).toMatch(/^--mcp-config is not valid JSON/);
});

test("without a file there are no servers", () => {
  expect(read({})).toEqual({ servers: [], problems: [] });
});

test("entries of Claude Code and pi are read", () => {
  const { servers, problems } = read({
    env: { TOKEN: "secret", EMPTY: "" },
    user: {
      mcpServers: {
        files: {
          command: "npx",
          args: ["-y", "server", "~/notes", "${EMPTY:-none}"],
          env: { KEY: "${TOKEN}" },
          cwd: "sub",
        },
        "docs-1": {
          type: "http",
          url: "https://${HOST:-example.com}/mcp",
          headers: { Authorization: "Bearer ${TOKEN}" },
          timeout: 30,
        },
        long: {
          type: "streamable-http",
          url: "http://localhost:1/mcp",
          timeout: 600_000,
          oauth: { clientId: "me" },
        },
        off: {
          type: "stdio",
          command: "off",
          enabled: false,
          alwaysAllow: ["x"],
          description: "Does nothing.",
        },
        out: { command: "out", disabled: true },
      },
      other: 1,
    },
  });
  expect(problems).toEqual([]);
  const usual = { file: userFile(), isEnabled: true, timeoutMs: 60_000, hasRoots: true };
  const started = { ...usual, type: "stdio", args: [], env: {}, cwd };
  expect(servers).toEqual([
    {
      ...started,
      name: "files",
      command: "npx",
      args: ["-y", "server", join(homedir(), "notes"), "none"],
      env: { KEY: "secret" },
      keys: [{ name: "TOKEN", value: "secret" }],
      cwd: join(cwd, "sub"),
    },
    {
      ...usual,
      name: "docs-1",
      type: "http",
      url: "https://example.com/mcp",
      headers: { Authorization: "Bearer secret" },
      keys: [{ name: "TOKEN", value: "secret" }],
      timeoutMs: 30_000,
    },
    {
      ...usual,
      name: "long",
      type: "http",
      url: "http://localhost:1/mcp",
      headers: {},
      timeoutMs: 600_000,
      oauth: { clientId: "me" },
    },
    { ...started, name: "off", command: "off", isEnabled: false, description: "Does nothing." },
    { ...started, name: "out", command: "out", isEnabled: false },
  ]);
});

const wrongEntries: [name: string, entries: object, problem: string][] = [
  [
    "a name with a blank",
    { "my server": { command: "a" } },
    'mcpServers has a server named "my server". Use only letters, digits, _ and - in names.',
  ],
  ["a string as entry", { a: "npx" }, 'mcpServers.a is "npx", but must be an object with command or url.'],
  ["an empty entry", { a: {} }, "mcpServers.a needs command or url."],
  [
    "a command as a list",
    { a: { command: ["npx"] } },
    'mcpServers.a.command is ["npx"], but must be the name or path of a program, with its arguments in args.',
  ],
  [
    "arguments as a text",
    { a: { command: "x", args: "-y" } },
    'mcpServers.a.args is "-y", but must be a list of strings.',
  ],
  [
    "a number in env",
    { a: { command: "x", env: { PORT: 1 } } },
    'mcpServers.a.env is {"PORT":1}, but must be an object of strings.',
  ],
  [
    "a url without a protocol",
    { a: { url: "example.com" } },
    'mcpServers.a.url is "example.com", but must be a URL that begins with http:// or https://.',
  ],
  [
    "a file as address",
    { a: { url: "file:///x" } },
    'mcpServers.a.url is "file:///x", but must be a URL that begins with http:// or https://.',
  ],
  [
    "an unknown type",
    { a: { type: "ws", url: "ws://x" } },
    'mcpServers.a.type is "ws", but must be "stdio", "http", "streamable-http" or "sse".',
  ],
  [
    "stdio without a command",
    { a: { type: "stdio", url: "http://x" } },
    'mcpServers.a has type "stdio" but no command.',
  ],
  [
    "a negative timeout",
    { a: { command: "x", timeout: -1 } },
    "mcpServers.a.timeout is -1, but must be a number: seconds if below 1000, otherwise milliseconds.",
  ],
  [
    "a variable that is not set",
    { a: { command: "x", env: { KEY: "${NO_KEY}" } } },
    "mcpServers.a.env.KEY uses the environment variable NO_KEY, which is not set. Set it, or add a default: ${NO_KEY:-VALUE}.",
  ],
  [
    "a header that cannot be sent",
    { a: { url: "http://x", headers: { "a b": "secret" } } },
    "mcpServers.a.headers has an invalid name or value (TypeError).",
  ],
  [
    "a callback port as a text",
    { a: { url: "http://x", oauth: { callbackPort: "80" } } },
    'mcpServers.a.oauth.callbackPort is "80", but must be a number from 1 to 65535.',
  ],
  [
    "a callback on another machine",
    { a: { url: "http://x", oauth: { callbackUrl: "http://localhost.example/" } } },
    'mcpServers.a.oauth.callbackUrl is "http://localhost.example/", but must be an http:// URL on localhost or 127.0.0.1.',
  ],
  [
    "a secret that is no text",
    { a: { url: "http://x", oauth: { clientSecret: 12345 } } },
    "mcpServers.a.oauth.clientSecret is a number, but must be a string.",
  ],
];

test("a wrong entry is named, and the others are used", () =>
  everyRow(wrongEntries)(([_name, entries, problem]) => {
    const { servers, problems } = read({ user: { mcpServers: { ...entries, fine: { command: "x" } } } });
    expect(problems).toEqual([`${userFile()}: ${problem}`]);
    expect(servers.map(({ name }) => name)).toEqual(["fine"]);
  }));

test("reads a server with the old transport sse", () => {
  const { servers, problems } = read({
    user: { mcpServers: { a: { type: "sse", url: "https://a.example/sse" } } },
  });
  expect(problems).toEqual([]);
  expect(servers).toMatchObject([{ type: "http", isSse: true, url: "https://a.example/sse" }]);
});

const wrongFiles: [text: string, problem: RegExp][] = [
  ["{", /is not valid JSON: /],
  ["[]", /is \[\], but must be \{"mcpServers": \{…}}\.$/],
  ['{"mcpServers": []}', /mcpServers is \[\], but must be an object of servers by name\.$/],
];

test("a wrong file is named", () =>
  everyRow(wrongFiles)(([user, problem]) =>
    expect(read({ user })).toEqual({ servers: [], problems: [expect.stringMatching(problem)] }),
  ));

test("a project's entry replaces the user's or changes its fields", () => {
  const user = { mcpServers: { one: { command: "mine" }, two: { command: "mine", env: { A: "1" } } } };
  const project = {
    mcpServers: { one: { command: "theirs" }, two: { enabled: false }, three: { enabled: true } },
  };
  const { servers, problems } = read({ user, project });
  expect(servers).toMatchObject([
    { name: "one", command: "theirs", file: projectFile() },
    { name: "two", command: "mine", file: userFile(), isEnabled: false, env: { A: "1" } },
  ]);
  expect(problems).toEqual([`${projectFile()}: mcpServers.three needs command or url.`]);
});

test("the file of an untrusted project is ignored", async () => {
  const project = { mcpServers: { evil: { command: "touch", args: [join(folder, "ran")] } } };
  expect(read({ project, isProjectTrusted: false })).toEqual({ servers: [], problems: [] });
  await using mcp = await openMcpSession({}, { cwd, isProjectTrusted: false, answers: ["Fine."] });
  await mcp.session.prompt("Go.");
  // The command's own notice names the ignored files.
  expect(mcp.notices).toEqual([]);
});

test("each tool gets its own name that providers accept", () => {
  const names = toolNames([
    { server: "a", tool: "read" },
    { server: "a", tool: "x y" },
    { server: "a", tool: "x/y" },
    { server: "a_", tool: "_z" },
    { server: "a", tool: "__z" },
    { server: "a", tool: "ü".repeat(80) },
  ]);
  expect(names[0]).toBe("mcp__a__read");
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
});
