/** Of a character of the terminal, in pixels. */
export const cell = { width: 8.4, height: 18, baseline: 13.3, fontSize: 14 } as const;

/** Between the picture's edge and the terminal. */
export const margin = 14;

export function pictureSize({ columns, rows }: { columns: number; rows: number }) {
  return {
    width: Math.round(columns * cell.width + 2 * margin),
    height: Math.round(rows * cell.height + 2 * margin),
  };
}
