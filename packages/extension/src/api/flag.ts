export type FlagValue = boolean | string;

export type FlagOptions =
  | { description?: string | undefined; type: "boolean"; default?: boolean | undefined }
  | { description?: string | undefined; type: "string"; default?: string | undefined };
