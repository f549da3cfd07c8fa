import { BonsaiError } from "@bonsai-agent/messages";
import { textFile } from "@bonsai-agent/models/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { applyConfigChange, installLines, removalLines } from "../call/agent-config.ts";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { launchCommand, launcherProblem, writeLauncher } from "../call/launcher.ts";
import { type Line, span, table } from "../views/line.ts";
import { configWith, installedEntry, isOwnEntry, type McpClient, mcpClients } from "./clients.ts";

/** The subcommand that the server's entries call. */
const SERVER_COMMAND = "mcp-server";
/** The entry in sentences. */
const ENTRY = "the server bonsai";

/** Adds the server to a client's configuration. Shows the change and asks first. */
export async function install(invocation: Invocation): Promise<ExitCode | undefined> {
  const client = namedClient(invocation);
  const { file, text } = configOf(client, invocation);
  const home = bonsaiHome(invocation.io.env);
  const entry = installedEntry(client, text ?? "", file);
  if (entry !== undefined && !isOwnEntry(entry))
    throw new BonsaiError({
      /** The client already has another MCP server with the name `bonsai`. */
      code: "mcp_server_name_taken",
      message: `${file} already has another server named bonsai. Nothing was changed.`,
      hint: "Rename that server, then run the command again.",
    });
  const launch = launchCommand(home, SERVER_COMMAND);
  const after = configWith(client, { text: text ?? "", file }, launch);
  if (after === undefined) throw unusualForm(file);
  writeLauncher(home);
  const change = { file, before: text, after };
  const outcome = await applyConfigChange(invocation, change);
  invocation.output.result({ client: client.name, file, outcome }, () =>
    installLines(change, { outcome, entry: ENTRY, label: client.label, next: client.next }),
  );
  return outcome === "declined" ? ExitCode.cancelled : undefined;
}

/** Removes the server from a client's configuration. Shows the change and asks first. */
export async function remove(invocation: Invocation): Promise<ExitCode | undefined> {
  const client = namedClient(invocation);
  const { file, text } = configOf(client, invocation);
  const entry = text === undefined ? undefined : installedEntry(client, text, file);
  const isOwn = entry !== undefined && isOwnEntry(entry);
  const after = isOwn ? configWith(client, { text: text!, file }, undefined) : text;
  if (isOwn && after === undefined) throw unusualForm(file);
  const outcome =
    after === undefined ? "unchanged" : await applyConfigChange(invocation, { file, before: text, after });
  invocation.output.result({ client: client.name, file, outcome }, () => removalLines(file, outcome, ENTRY));
  return outcome === "declined" ? ExitCode.cancelled : undefined;
}

/** Lists the clients whose user or project configuration has the server. */
export async function status(invocation: Invocation): Promise<undefined> {
  const { io, output } = invocation;
  const rows = mcpClients.flatMap((client) =>
    [undefined, io.cwd].map((project) => {
      const file = client.file(io.env, project);
      const scope = project === undefined ? "user" : "project";
      return { client: client.name, scope, file, state: stateOf(client, file) };
    }),
  );
  const isInstalled = rows.some(({ state }) => state === "installed");
  const problem = isInstalled ? (launcherProblem(bonsaiHome(io.env), "program") ?? null) : null;
  output.result({ servers: rows, problem }, () => [
    ...table(
      rows
        .filter(({ state, scope }) => scope === "user" || state !== "not installed")
        .map(({ client, scope, file, state }): Line[] => [
          [span(client, "bold")],
          [scope],
          [span(state, state === "installed" ? "green" : "gray")],
          [file],
        ]),
      { columns: [{}, {}, {}, { flexible: true }], width: output.width },
    ),
    ...(problem === null
      ? []
      : [[span("! ", "yellow"), `${problem} Run \`bonsai mcp-server install CLIENT\` again.`]]),
  ]);
}

function stateOf(client: McpClient, file: string): string {
  try {
    const entry = installedEntry(client, textFile(file) ?? "", file);
    if (entry === undefined) return "not installed";
    return isOwnEntry(entry) ? "installed" : "another server named bonsai";
  } catch {
    return "unreadable";
  }
}

function configOf(
  client: McpClient,
  { io, options }: Invocation,
): { file: string; text: string | undefined } {
  const file = client.file(io.env, options.project === true ? io.cwd : undefined);
  return { file, text: textFile(file) };
}

function namedClient({ args }: Invocation): McpClient {
  const [, name] = args;
  const client = mcpClients.find((each) => each.name === name);
  if (client !== undefined) return client;
  throw wrongUsage(
    name === undefined ? "Name a client." : `Unknown client ${JSON.stringify(name)}.`,
    `Clients: ${mcpClients.map((each) => each.name).join(", ")}.`,
  );
}

function unusualForm(file: string): BonsaiError {
  return new BonsaiError({
    /** The client's configuration file has a form that Bonsai cannot edit safely. */
    code: "agent_config_unusual",
    message: `${file} has its MCP servers in a form that Bonsai cannot edit safely. Nothing was changed.`,
    hint: "Write each server as a table of its own, `[mcp_servers.NAME]`, then run the command again.",
  });
}
