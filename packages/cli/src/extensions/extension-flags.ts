import type { OptionGrammar } from "../invocation.ts";

/** The flags of every command that runs extensions. */
export const extensionFlags: readonly OptionGrammar[] = [
  { flags: "-e, --extension <path>", description: "load an extension; may be repeated", kind: "list" },
  { flags: "--no-extensions", description: "load no extensions but those of -e" },
];
