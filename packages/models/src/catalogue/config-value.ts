import { spawnSync } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

/** Long enough for a password manager that asks. */
const COMMAND_TIMEOUT_MS = 10_000;

/** The variable that a value of pi names as a whole: `$NAME` or `${NAME}`. */
export function variableOf(value: string): string | undefined {
  const [, plain, braced] = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$/.exec(value) ?? [];
  return plain ?? braced;
}

/**
 * A value of pi's `models.json` and `auth.json`: a text with `$NAME`, a variable's bare name, or `!COMMAND`. Undefined if a
 * variable is not set or the command fails.
 */
export function configValue(value: string, env: Environment): string | undefined {
  if (value.startsWith("!")) return commandOutput(value.slice(1), env);
  // Earlier versions of pi took a variable's name without the dollar sign.
  if (/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(value)) return env[value] ?? value;
  let isComplete = true;
  const text = value.replaceAll(
    /\$(?:([$!])|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/g,
    (_, escaped: string | undefined, plain: string | undefined, braced: string) => {
      if (escaped !== undefined) return escaped;
      const found = env[plain ?? braced];
      isComplete &&= Boolean(found);
      return found ?? "";
    },
  );
  return isComplete ? text : undefined;
}

function commandOutput(command: string, env: Environment): string | undefined {
  const { status, stdout } = spawnSync(command, {
    shell: true,
    encoding: "utf8",
    env: { ...env },
    timeout: COMMAND_TIMEOUT_MS,
    stdio: ["ignore", "pipe", "ignore"],
    windowsHide: true,
  });
  return status === 0 && stdout.trim() !== "" ? stdout.trim() : undefined;
}
