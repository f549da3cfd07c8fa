import { join } from "node:path";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import type { BonsaiError } from "@bonsai-agent/messages";
import type { ProviderConfig } from "@bonsai-agent/models";
import type { LoginCallbacks } from "@bonsai-agent/models/login";
import { bonsaiHome } from "@bonsai-agent/session";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import type { CliIo } from "../call/io.ts";
import { forgetLogin, logoutSentences, openLoginPage, PASTE_QUESTION } from "../call/login.ts";
import type { ModelRegistry } from "../call/model-choice.ts";
import { terminalUi } from "../call/terminal-ui.ts";
import { type Line, span, table } from "../views/line.ts";
import { loginState, takesKey } from "../views/login-state.ts";
import { oneLine, printableLines } from "../views/terminal-text.ts";
import { withCommandModels } from "./command-models.ts";

/** A provider in the JSON of `bonsai login`. */
export type LoginRow = ReturnType<typeof rowOf>;

/** Logs in at a provider, or stores its key; without one, lists them. */
export async function run(invocation: Invocation): Promise<ExitCode | undefined> {
  const { io, output, options } = invocation;
  if (options.forget === true) return logout(invocation);
  return io.interruptible(async (signal) => {
    try {
      await withCommandModels(invocation, signal, (models) => listOrLogIn({ models, invocation, signal }));
      return ExitCode.done;
    } catch (error) {
      if (!signal.aborted) throw error;
      output.notify({ code: "cancelled", message: "Cancelled. Nothing was stored." });
      return ExitCode.cancelled;
    }
  });
}

async function listOrLogIn({ models, invocation, signal }: Omit<LogIn, "provider">): Promise<void> {
  const { args, output, io } = invocation;
  const [name] = args;
  const configs = models.catalogue.providers.filter(takesKey);
  const rows = configs.map((each) => rowOf(each, models));
  const { keys } = models;
  if (name === undefined)
    return output.result(rows, () =>
      listLines(
        configs.map((each) => [each, loginState(each, { keys, nowMs: io.now() })]),
        output.width,
      ),
    );
  const provider = models.catalogue.providers.find((each) => each.provider === name);
  if (provider === undefined || !takesKey(provider)) throw unknownProvider(name, rows);
  const done = await logIn({ provider, models, invocation, signal });
  output.result(rowOf(provider, models), () => [[done]]);
}

function rowOf(config: ProviderConfig, { keys }: ModelRegistry) {
  const { provider, login = null, apiKeyEnv = null } = config;
  const origin = keys.source(config) ?? null;
  const expires = origin === "login" ? keys.logins.state(provider)?.expires : undefined;
  const shown = expires === undefined ? null : new Date(expires).toISOString();
  return { provider, login, origin, variable: apiKeyEnv, expires: shown };
}

function* listLines(
  rows: readonly [ProviderConfig, state: string | undefined][],
  width: number,
): Iterable<Line> {
  const heading: Line[] = ["provider", "login", "state"].map((word) => [span(word, "gray")]);
  const cells = rows.map(([{ provider, login = "" }, state = ""]) => [
    [provider],
    [oneLine(login, 40)],
    [state],
  ]);
  yield* table([heading, ...cells], { columns: [{}, {}, { flexible: true }], width });
  yield ["To log in or store a key, run ", span("bonsai login PROVIDER", "bold"), "."];
}

interface LogIn {
  provider: ProviderConfig;
  models: ModelRegistry;
  invocation: Invocation;
  signal: AbortSignal;
}

/** @returns what happened, for people */
async function logIn({ provider: config, models, invocation, signal }: LogIn): Promise<string> {
  const { io, output } = invocation;
  const { provider } = config;
  const keyFile = join(bonsaiHome(io.env), "auth.json");
  const ui = terminalUi({ io, output, signal });
  const asking: Asking = { ui, io, piped: undefined };
  try {
    const { logins } = models.keys;
    const login = logins.of(provider);
    if (login !== undefined) {
      await logins.login(provider, callbacksOf(asking, { invocation, signal }));
      return `You are logged in to ${oneLine(login.name, 80)}. The login is in ${keyFile}.`;
    }
    const key = await ask(asking, `API key for ${provider} (visible while you type):`, signal);
    models.keys.store(provider, key);
    return `Stored the key for ${provider} in ${keyFile}.`;
  } finally {
    ui?.close();
  }
}

/** Answers come from the terminal, else from the lines that are piped in. */
interface Asking {
  ui: (FrontEndUI & { close(): void }) | undefined;
  io: CliIo;
  piped: string[] | undefined;
}

async function ask(asking: Asking, question: string, signal: AbortSignal): Promise<string> {
  const { ui, io } = asking;
  if (ui === undefined) asking.piped ??= await pipedLines(io);
  const text = ui === undefined ? asking.piped?.shift() : await ui.input(question, undefined, { signal });
  signal.throwIfAborted();
  if (text !== undefined && text.trim() !== "") return text;
  throw wrongUsage(
    `No answer to "${question}". Nothing was stored.`,
    "Answer in a terminal, or pipe the answer: `bonsai login PROVIDER < FILE`.",
  );
}

async function pipedLines({ stdin }: CliIo): Promise<string[]> {
  let text = "";
  if (stdin === undefined || stdin.isTTY === true) return [];
  for await (const piece of stdin) text += piece.toString();
  return text.split("\n").filter((line) => line.trim() !== "");
}

function callbacksOf(
  asking: Asking,
  { invocation: { io, output }, signal }: Pick<LogIn, "invocation" | "signal">,
): LoginCallbacks {
  const say = (text: string) => output.question(...printableLines(text).map((line): Line => ["  ", line]));
  return {
    signal,
    onAuth({ url, instructions = "" }) {
      // The address alone on its line can be clicked and copied.
      output.question([printableLines(url).join("")]);
      if (instructions !== "") say(instructions);
      void openLoginPage(url, io.env).then(say);
    },
    onDeviceCode({ userCode, verificationUri }) {
      output.question([printableLines(verificationUri).join("")]);
      output.question(["  Enter this code there: ", span(oneLine(userCode, 40), "bold")]);
    },
    onProgress: say,
    onPrompt: ({ message, isSecret }) =>
      ask(asking, isSecret ? `${message} (visible while you type)` : message, signal),
    async onManualCodeInput() {
      const text = await asking.ui?.input(PASTE_QUESTION, undefined, { signal });
      return text ?? new Promise<string>(() => {});
    },
    async onSelect({ message, options }) {
      if (asking.ui === undefined) return options[0]?.id;
      const chosen = await asking.ui.select(
        message,
        options.map(({ label }) => label),
        { signal },
      );
      return options.find(({ label }) => label === chosen)?.id;
    },
  };
}

function unknownProvider(name: string, rows: readonly LoginRow[]): BonsaiError {
  return wrongUsage(
    `Unknown provider ${JSON.stringify(name)}.`,
    `Providers: ${rows.map(({ provider }) => provider).join(", ")}. To use a provider of an extension, add -e.`,
  );
}

async function logout(invocation: Invocation): Promise<undefined> {
  const { args, io, output } = invocation;
  const [provider] = args;
  if (provider === undefined)
    throw wrongUsage("--forget needs a provider.", "Run `bonsai login` to list the stored keys and logins.");
  return io.interruptible((signal) =>
    withCommandModels(invocation, signal, async (models) => {
      const report = await forgetLogin(provider, models, signal);
      output.result(report, () => logoutSentences(report, models).map((text) => [oneLine(text)]));
    }),
  );
}
