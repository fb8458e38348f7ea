import { mount } from '../design/mount.tsx';
import './operations.css';
import { OperationsPage } from './page.tsx';

mount('operations', <OperationsPage />);
