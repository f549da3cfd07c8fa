export type FlagValue = boolean | string;

export type FlagOptions =
  | { description?: string; type: "boolean"; default?: boolean }
  | { description?: string; type: "string"; default?: string };
