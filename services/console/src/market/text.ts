/** English texts of the map; those of the page around it are in `../text.ts`. */
export const MAP = {
  legend: 'Active trips: the arc fills as the fare is paid',
  here: (requests: string, trips: string, allTrips: string): string =>
    `In view: ${requests}, ${trips} of ${allTrips}`,
  requests: (count: number): string => (count === 1 ? '1 open request' : `${count} open requests`),
  trips: (count: number): string => (count === 1 ? '1 active trip' : `${count} active trips`),
  states: {
    drawing: 'The map is being drawn. The lists have the same rides.',
    slow: (seconds: number): string =>
      `This browser has drawn no map within ${seconds} seconds. The lists have the same rides; the map appears here if it is drawn later.`,
    refused:
      'The browser refuses to draw the map (WebGL is not available now). The lists have the same rides. Load the page again to try once more.',
  },
} as const;
