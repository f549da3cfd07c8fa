/** A time in the user's time zone: `14:02` for today, else `2025-11-20 14:02`. */
export function localTime(ms: number, nowMs = Date.now()): string {
  const date = new Date(ms);
  const time = date.toTimeString().slice(0, 5);
  if (date.toDateString() === new Date(nowMs).toDateString()) return time;
  const [year, month, day] = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")} ${time}`;
}
