/** What the process says when it ends. */
export const ExitCode = { done: 0, failed: 1, usage: 2, cancelled: 130 } as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];
